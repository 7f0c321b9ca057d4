#include <iostream>
#include <map>
#include <string>

int main() {
    std::map<std::string, int> counts;
    for (std::string word; std::cin >> word;) ++counts[word];
    for (auto const &[word, count] : counts) std::cout << word << ' ' << count << '\n';
}
