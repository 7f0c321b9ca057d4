# Run by the recorded interpreter: reads what the index knows as text, and sources; writes both as the hook reads them, the code of the
# sources as one file, and the code of the hook.
#
# Arguments: the text, the list of sources, our directory. Prints a line for each source in the pack: its number in the list.
def plain(text)
  text.gsub(/\\(.)/n) { { 't' => "\t", 'n' => "\n" }[$1] || $1 }.force_encoding('UTF-8')
end

# Ruby's own loader compiles it; it is stopped before the code runs, so that label and paths are as in a program.
def compiled(path)
  code = nil
  point = TracePoint.new(:script_compiled) do |found|
    code = found.instruction_sequence
    throw :compiled
  end
  catch(:compiled) { point.enable { load path } }
  code
end

# What the compiler says of a source.
def warned(path, verbose)
  read, write = IO.pipe
  said = Thread.new { read.read }
  kept = $stderr.dup
  before = $VERBOSE
  $stderr.reopen(write)
  $VERBOSE = verbose
  code = compiled(path)
  [code, !(write.close; $stderr.reopen(kept); said.value.empty?)]
ensure
  $VERBOSE = before
  $stderr.reopen(kept)
  [read, write, kept].each { |file| file.close unless file.closed? }
end

text, list, own = ARGV
entries = []
links = {}
guards = []
sections = {}
names = {}
tag, *lines = File.binread(text).split("\n")
lines.each do |line|
  kind, name, *rest = line.split("\t", -1)
  case kind
  when 'E' then entries << plain(name)
  when 'G' then guards << [plain(name), *rest.map(&:to_i)]
  when 'D' then sections[plain(name)] = rest.map { |pair| pair.split(':').map(&:to_i) }
  when 'N' then names[plain(name)] = rest.map(&:to_i)
  end
end
entries.each_with_index do |entry, number|
  real = File.realpath(entry)
  links[number] = real if real != entry
rescue SystemCallError
  # Nothing is there: it has no files.
end

sources = {}
offset = 0
File.open("#{own}/pack.bin", 'wb') do |pack|
  File.binread(list).split("\n").each_with_index do |line, number|
    path, *identity = line.split("\t")
    path = plain(path)
    code, warns_always = warned(path, false)
    next if warns_always
    _, warns = warned(path, true)
    binary = code.to_binary
    pack.write(binary)
    sources[path] = [*identity.map(&:to_i), offset, binary.bytesize, warns]
    offset += binary.bytesize
    puts number
  rescue StandardError, ScriptError
    next
  end
end

options = RubyVM::InstructionSequence.compile_option
data = [entries.each_with_index.to_h, links, guards, sections, names, sources, options]
File.binwrite("#{own}/index.bin", Marshal.dump(data))
hook = RubyVM::InstructionSequence.compile(File.read("#{own}/hook.rb"), '<internal:coldstart>', '<internal:coldstart>', 1)
File.binwrite("#{own}/hook.bin", plain(tag).b << "\n" << hook.to_binary)
