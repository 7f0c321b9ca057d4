import java.util.*;

public class A {
    public static void main(String[] words) {
        Map<String, Integer> counts = new TreeMap<>();
        for (String word : words) counts.merge(word, 1, Integer::sum);
        System.out.println(counts);
    }
}
