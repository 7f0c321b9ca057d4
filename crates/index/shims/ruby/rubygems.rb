# Written by coldstart. `rubygems` is the first file that Ruby loads by its name. This one starts the index of the interpreter that it was
# made for, and then lets Ruby load its own. Any other interpreter, also one that is not MRI, goes on as if this directory were not in RUBYLIB.
lambda do |own|
  given = (ENV['RUBYLIB'] || '').split(':')
  spelled = given.include?(own) ? own : given.find { |entry| File.identical?(entry, own) }
  $LOAD_PATH.delete(own)
  $LOAD_PATH.delete(spelled) if spelled
  hook = begin
    log = ENV['COLDSTART_INDEX_LOG_RUBY']
    binary = "#{own}/hook.bin"
    if RUBY_ENGINE != 'ruby' || RUBY_VERSION < '2.7'
      nil
    elsif File.exist?(binary)
      tag, code = File.binread(binary).split("\n", 2)
      names = RubyVM::INSTRUCTION_NAMES
      mine = [RUBY_VERSION, RUBY_PATCHLEVEL, RUBY_REVISION, RUBY_PLATFORM, RUBY_DESCRIPTION.include?('PRISM'), names.size, names.join.sum(32)]
      if tag.force_encoding('UTF-8') == "#{mine.join(' ')} #{File.readlink('/proc/self/exe')}"
        RubyVM::InstructionSequence.load_from_binary(code).eval
      end
    elsif log
      # Not compiled yet: a start is being recorded.
      eval(File.read("#{own}/hook.rb"), TOPLEVEL_BINDING.dup, '<internal:coldstart>', 1)
    end
  rescue StandardError, ScriptError
    nil
  end
  begin
    hook = hook && hook.call(own, log)
  rescue StandardError, ScriptError
    hook = nil
  end
  unless hook || !spelled
    given.delete(spelled)
    ENV['RUBYLIB'] = given.empty? ? nil : given.join(':')
  end
  require 'rubygems'
  hook.begin_gems(__FILE__) if hook
end.call(File.dirname(__FILE__))
