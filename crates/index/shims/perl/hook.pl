# Written by coldstart: answers Perl's search for modules from an index, where the directories are as they were.
#
# Two elements stand in front of @INC: a hook, which Perl asks first, and a tied slot. When the index knows the directory of a file, the
# slot is that directory, once, for the look that follows the hook; Perl then opens the file itself, so that %INC and __FILE__ are as ever.
# At any other look the slot is the index's own directory, where no module is. Entries that are unknown or have changed are asked here.
package ColdstartIndex;

{
    my $here = __FILE__;
    delete $INC{$here};
    $here =~ s{/[^/]*\z}{};
    my $log = delete $ENV{COLDSTART_INDEX_LOG_PERL};
    my $tag = join ' ', $], $^X;
    my (@guards, @states, %sections, %names, @entries);
    my ($armed, $slot, $known_path, %rank, @unknown, %lines_of, %looked);

    sub ColdstartIndex::Slot::TIESCALAR { bless [], $_[0] }
    sub ColdstartIndex::Slot::FETCH { my $found = $armed; undef $armed; defined $found ? $found : $here }
    sub ColdstartIndex::Slot::STORE { }

    my $plain = sub { my $text = $_[0]; $text =~ s/\\(.)/$1 eq 't' ? "\t" : $1 eq 'n' ? "\n" : $1/ge if index($text, '\\') >= 0; $text };
    my $is_read = do {
        my ($file, $text);
        if (open $file, '<', "$here/index.txt") {
            binmode $file;
            local $/;
            $text = <$file>;
            close $file;
        }
        defined $text && $text =~ s/\A([^\n]*)\n// && $plain->($1) eq $tag && $text =~ /^end\n\z/m && do {
            # By one expression for each kind: a loop over lines takes three times as long.
            @entries = map { $plain->($_) } $text =~ /^E\t(.*)$/mg;
            @guards = $text =~ /^G\t(.*)$/mg;
            %sections = $text =~ /^D\t([^\t\n]*)(.*)$/mg;
            %names = $text =~ /^N\t([^\t\n]*)\t(.*)$/mg;
            for my $table (\%sections, \%names) {
                for (grep { index($_, '\\') >= 0 } keys %$table) { $table->{$plain->($_)} = delete $table->{$_} }
            }
            1;
        };
    };

    # Whole seconds suffice: a directory is recorded two seconds after its last change at the earliest.
    my $is_fresh = sub {
        my ($path, $device, $inode, $modified, $changed) = split /\t/, $guards[$_[0]];
        # ENOENT; %! would load a module.
        my @found = stat $plain->($path) or return $inode < 0 && $! == 2;
        $found[1] == $inode && $found[9] == $modified && $found[10] == $changed && ($device < 0 || $found[0] == $device);
    };

    # Ranks of entries before a rank in whose directories something has changed. Only those are looked at, each once: the entry that has
    # the file is asked by Perl.
    my $stale_before = sub {
        my ($section, $limit) = @_;
        my $line = $lines_of{$section} //= do {
            my ($at, @line) = (-1, '');
            push @line, substr $section, 0, $at while ($at = index $section, '/', $at + 1) >= 0;
            push @line, $section if $section ne '';
            \@line;
        };
        my @stale;
        for my $above (@$line) {
            my $looked = $looked{$above} //= do {
                my @guarded = map { [split /:/] } split ' ', $sections{$above} // '';
                @guarded = grep { defined $_->[0] } map { [$rank{$entries[$_->[0]]}, $_->[1]] } @guarded;
                [0, [], sort { $a->[0] <=> $b->[0] } @guarded];
            };
            while ($looked->[0] + 2 < @$looked) {
                my ($rank, $guard) = @{$looked->[$looked->[0] + 2]};
                last if $rank >= $limit;
                $states[$guard] //= $is_fresh->($guard) ? 1 : 2;
                push @{$looked->[1]}, $rank if $states[$guard] == 2;
                $looked->[0]++;
            }
            push @stale, grep { $_ < $limit } @{$looked->[1]} if @{$looked->[1]};
        }
        @stale;
    };

    my $find = sub {
        my ($file, $at) = @_;
        my $path = join "\0", @INC;
        if (!defined $known_path || $known_path ne $path) {
            $known_path = $path;
            %looked = %rank = @unknown = ();
            my %known = map { $_ => 1 } @entries;
            for my $place ($at + 2 .. $#INC) {
                my $entry = $INC[$place];
                next if defined $rank{$entry};
                $rank{$entry} = $place;
                push @unknown, $place if ref $entry || !$known{$entry};
            }
        }
        my $best;
        for (split /\t/, $names{$file}) {
            my $rank = $rank{$entries[$_]};
            $best = $rank if defined $rank && (!defined $best || $rank < $best);
        }
        return unless defined $best;
        my $end = rindex $file, '/';
        my @stale = $stale_before->($end < 0 ? '' : substr($file, 0, $end), $best);
        if (@unknown || @stale) {
            for (sort { $a <=> $b } @unknown, @stale) {
                last if $_ >= $best;
                # Another hook: Perl asks it in its turn.
                return if ref $INC[$_];
                return $INC[$_] if -e "$INC[$_]/$file" || $file =~ /\.pm\z/ && -e "$INC[$_]/${file}c";
            }
        }
        $INC[$best];
    };

    my ($write, %asked, $logged_path);
    if (defined $log) {
        my $owner = $$;
        $write = sub {
            my @fields = @_;
            for (@fields) { s/\\/\\\\/g; s/\t/\\t/g; s/\n/\\n/g }
            open my $file, '>>', $log or return;
            binmode $file;
            print $file join("\t", splice(@fields, 0, 1), $$, @fields), "\n";
            close $file;
        };
        $write->('P', $^X, $tag, "$^V");
        # Children record, too.
        $ENV{COLDSTART_INDEX_LOG_PERL} = $log;
    }

    my $hook;
    $hook = sub {
        my ($self, $file) = @_;
        local ($!, $_);
        undef $armed;
        my $at = 0;
        $at++ while $at < @INC && !(ref $INC[$at] && $INC[$at] == $hook);
        return if $at >= @INC;
        if (!$slot || \$INC[$at + 1] != $slot) {
            # A list was assigned to @INC, which copies: the slot is a plain string now, or gone.
            @INC = grep { ref $_ || $_ ne $here } @INC;
            splice @INC, $at + 1, 0, $here;
            tie $INC[$at + 1], 'ColdstartIndex::Slot';
            $slot = \$INC[$at + 1];
        }
        if ($write) {
            $asked{$file} = 1;
            my @path = grep { !ref } @INC[$at + 2 .. $#INC];
            my $path = join "\0", @path;
            if (!defined $logged_path || $logged_path ne $path) {
                $logged_path = $path;
                $write->('S', @path);
            }
        }
        $armed = $find->($file, $at) if defined $names{$file};
        return;
    };
    if ($is_read || $write) {
        unshift @INC, $hook, $here;
        tie $INC[1], 'ColdstartIndex::Slot';
        $slot = \$INC[1];
    }
    if ($write) {
        eval q{
            END {
                local ($?, $!, $@);
                for my $file (sort keys %asked) {
                    my $path = $INC{$file};
                    $write->(defined $path && !ref $path ? ('F', $file, '', $path) : ('M', $file));
                }
            }
            1;
        };
    }
}
1;
