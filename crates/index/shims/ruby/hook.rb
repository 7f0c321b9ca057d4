# Answers Ruby's search for files from an index, where the directories are as they were; and has the code of unchanged files at hand.
#
# A name that the index knows is given to Ruby as the path that its own search would come to. Ruby opens the file itself. Names that have
# been asked for before are given to Ruby as they are: it knows that it has them. This is below RubyGems and Bundler: they call it.
index = Module.new
Kernel.const_set(:ColdstartIndex, index)
Kernel.send(:private_constant, :ColdstartIndex)

module Kernel
  alias_method :coldstart_original_require, :require
  private :coldstart_original_require

  def require(path)
    found = ColdstartIndex.find(path)
    ColdstartIndex.log ? ColdstartIndex.recorded(path, found) { coldstart_original_require(found) } : coldstart_original_require(found)
  rescue LoadError => error
    # Not to be opened: Ruby looks on.
    raise if found.equal?(path) || error.path != found
    coldstart_original_require(path)
  end
  private :require
end

class << RubyVM::InstructionSequence
  def load_iseq(path)
    Kernel.send(:const_get, :ColdstartIndex).code(path)
  end
end

class << index
  attr_reader :log

  def begin(own, log)
    @log = log
    @asked = {}
    @states = []
    @directories = { '/' => true }
    @real = { '/' => true }
    @entries = @names = @sources = @sections = {}
    @path = @pack = @obsolete = nil
    if File.exist?("#{own}/index.bin")
      @numbers, @links, @guards, @sections, @names, @sources, @options = Marshal.load(File.binread("#{own}/index.bin"))
      @pack = File.open("#{own}/pack.bin", 'rb')
    end
    if log
      @logged_path = nil
      executable = File.readlink('/proc/self/exe')
      names = RubyVM::INSTRUCTION_NAMES
      tag = [RUBY_VERSION, RUBY_PATCHLEVEL, RUBY_REVISION, RUBY_PLATFORM, RUBY_DESCRIPTION.include?('PRISM'), names.size, names.join.sum(32)]
      write('P', executable, "#{tag.join(' ')} #{executable}", RUBY_VERSION)
    end
    self
  end

  # The path that Ruby's search would come to, or the name as it is.
  def find(name)
    if @obsolete
      # Ruby adds a feature when its file has ended.
      $LOADED_FEATURES.delete(@obsolete)
      @obsolete = nil
    end
    return name if !name.instance_of?(String) || @asked[name] || @names.empty?
    files = name.end_with?('.rb', '.so') ? [name] : ["#{name}.rb", "#{name}.so"]
    having = files.map { |file| @names[file] }
    return name unless having[0] || having[1]
    @asked[name.dup.freeze] = true
    look_at_path unless @path == $LOAD_PATH
    best = having.map { |numbers| numbers && numbers.map { |number| @ranks[number] }.compact.min }
    # A source and a library in different directories: which one is first depends on Ruby's version.
    return name if best[0] && best[1] && best[0] != best[1]
    kind = best[0] ? 0 : 1
    rank = best[kind] or return name
    # Libraries come after the sources of all directories.
    limit = files[kind].end_with?('.so') ? $LOAD_PATH.size : rank
    return name if appeared?(name, files, limit, rank)
    number = @by_rank[rank]
    entry = $LOAD_PATH[rank]
    return name unless entry_real?(number, entry)
    found = "#{@links[number] || entry}/#{files[kind]}"
    # What has been loaded from elsewhere under this name counts as loaded.
    if having.compact.sum(&:size) > 1
      others = files.each_with_index.flat_map do |file, at|
        (having[at] || []).map { |other| "#{@links[other] || @numbers.key(other)}/#{file}" }
      end
      others.delete(found)
      return name if others.any? { |other| $LOADED_FEATURES.include?(other) }
    end
    found
  rescue SystemCallError, ArgumentError, EncodingError
    name
  end

  # Whether an entry that is unknown or has changed may have one of the files.
  def appeared?(name, files, limit, best)
    doubtful = @unknown
    at = -1
    section = ''
    loop do
      stale = @stale[section] ||= stale_in(section)
      doubtful |= stale unless stale.empty?
      at = name.index('/', at + 1) or break
      section = name[0, at]
    end
    doubtful.any? do |rank|
      next false if rank >= limit && rank != best
      entry = $LOAD_PATH[rank]
      rank == best || !entry.is_a?(String) || files.any? { |file| File.file?(File.expand_path(file, entry)) }
    end
  end

  def stale_in(section)
    ranks = []
    (@sections[section] || []).each do |number, guard|
      rank = @ranks[number] or next
      state = @states[guard]
      state = @states[guard] = fresh?(guard) if state.nil?
      ranks << rank unless state
    end
    ranks
  end

  def fresh?(guard)
    path, device, inode, modified, changed = @guards[guard]
    found = File.lstat(path)
    if found.symlink?
      found = File.stat(path)
    elsif found.directory?
      @directories[path] = true
    end
    inode == found.ino && same_time?(found.mtime, modified) && same_time?(found.ctime, changed) && (device < 0 || device == found.dev)
  rescue Errno::ENOENT
    inode < 0
  rescue SystemCallError
    false
  end

  def same_time?(time, nanoseconds)
    time.to_i * 1_000_000_000 + time.nsec == nanoseconds
  end

  def look_at_path
    path = $LOAD_PATH.dup
    @ranks = {}
    @by_rank = []
    @unknown = []
    path.each_with_index do |entry, rank|
      number = entry.is_a?(String) ? @numbers[entry] : nil
      if number.nil?
        @unknown << rank
      elsif !@ranks[number]
        @ranks[number] = rank
        @by_rank[rank] = number
      end
    end
    @stale = {}
    @path = path
  end

  def entry_real?(number, entry)
    linked = @links[number]
    return real?(entry) unless linked
    @real[entry] = File.realpath(entry) == linked if @real[entry].nil?
    @real[entry]
  end

  # Whether no part of a path is a link.
  def real?(directory)
    state = @real[directory]
    return state unless state.nil?
    is_directory = @directories[directory] || File.lstat(directory).directory?
    @real[directory] = is_directory && real?(File.dirname(directory))
  rescue SystemCallError
    @real[directory] = false
  end

  # The code of a file that is as it was.
  def code(path)
    write('C', path) if @log
    source = @sources[path] or return
    device, inode, modified, changed, size, offset, length, warns = source
    return if warns && $VERBOSE || defined?(::Coverage) || defined?(::SCRIPT_LINES__)
    return if RubyVM.respond_to?(:keep_script_lines) && RubyVM.keep_script_lines
    return if @options != RubyVM::InstructionSequence.compile_option
    found = File.lstat(path)
    return unless found.file? && found.ino == inode && found.size == size && (device < 0 || found.dev == device)
    return unless same_time?(found.mtime, modified) && same_time?(found.ctime, changed) && real?(File.dirname(path))
    binary = @pack.pread(length, offset)
    RubyVM::InstructionSequence.load_from_binary(binary)
  rescue StandardError
    nil
  end

  # RubyGems has been loaded.
  def begin_gems(obsolete)
    @obsolete = obsolete
    index = self
    Gem.singleton_class.prepend(Module.new do
      # With directories by -I or RUBYLIB, RubyGems asks each of them for every file of a default gem.
      define_method(:find_unresolved_default_spec) do |path|
        spec = super(path)
        return spec unless spec && index.default?(path)
        begin
          Kernel.send(:gem, spec.name, Gem::Requirement.default_prerelease)
          nil
        rescue Exception # As RubyGems itself does, which then says it.
          spec
        end
      end
    end)
  end

  # Whether no directory in front of Ruby's own and those of gems has a file.
  def default?(name)
    limit = Gem.load_path_insert_index - Gem.activated_gem_paths
    return false if limit <= 0 || !name.instance_of?(String)
    files = name.end_with?('.rb', '.so') ? [name] : ["#{name}.rb", "#{name}.so"]
    having = files.flat_map { |file| @names[file] || [] }
    return false if having.empty?
    look_at_path unless @path == $LOAD_PATH
    return false if having.any? { |number| (rank = @ranks[number]) && rank < limit }
    # Also names with other suffixes, and the name itself.
    !appeared?(name, [name, *files], limit, nil)
  rescue StandardError
    false
  end

  def recorded(name, found)
    unless @logged_path == $LOAD_PATH
      @logged_path = $LOAD_PATH.dup
      write('S', *@logged_path.grep(String))
    end
    loaded = yield
    if loaded && name.is_a?(String)
      plain = name.sub(/\.(rb|so)\z/, '')
      ends = ["#{plain}.rb", "#{plain}.so"]
      feature = $LOADED_FEATURES.last(64).reverse_each.find { |path| path.end_with?(*ends) }
      write('F', name, '', feature || '')
    end
    loaded
  rescue LoadError => error
    write('M', name) if name.is_a?(String) && error.path == name
    raise
  end

  def write(kind, *fields)
    escaped = fields.map { |field| field.b.gsub(/[\\\t\n]/n) { |found| { "\t" => '\\t', "\n" => '\\n' }[found] || '\\\\' } }
    File.open(@log, 'ab') { |file| file.syswrite([kind, Process.pid, *escaped].join("\t") << "\n") }
  rescue SystemCallError
    nil
  end
end

->(own, log) { index.begin(own, log) }
