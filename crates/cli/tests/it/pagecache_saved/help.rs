//! What is said by `--help`.

use super::scene::{coldstart, conversation, scratch};

#[test]
fn help_says_what_is_done() {
    let directory = scratch();
    insta::assert_snapshot!(conversation(coldstart(directory.path(), &["save", "--help"])), @r"
    $ coldstart pagecache save --help
    exit: 0
    --- stdout
    Save what the page cache holds, of the whole system or of trees

    Usage: coldstart pagecache save [OPTIONS] <FILE> [PATH]...

    Arguments:
      <FILE>
              File to write; an earlier saved state is replaced once the new one is whole

      [PATH]...
              Files or directories to walk [default: every file system on storage, each once]

    Options:
          --color <WHEN>
              When to colour the output

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [default: auto]

      -x, --one-file-system
              Leave out what is mounted below the named directories

          --force
              Write over FILE even if it is not an earlier output

          --json
              Print one JSON object instead of a sentence

      -h, --help
              Print help (see a summary with '-h')

    Saved are the resident pages of files, the pages of block devices where the kernel lets us see them
    (file systems' metadata), and the directories and symbolic links on the way to those files. Without
    PATH, network file systems are left out, and so is what lives in memory. Deleted files that are
    still open cannot be reached by anybody.

    Linux keeps pages of other people's files secret: without root, they are counted as hidden.

    Exit codes: 0 saved; 2 something broke, and no file was written.

    Examples:
      coldstart pagecache save after-boot.pagecache
      coldstart pagecache save firefox.pagecache /usr/lib/firefox ~/.mozilla
    --- stderr
    ");
    insta::assert_snapshot!(conversation(coldstart(directory.path(), &["restore", "--help"])), @r"
    $ coldstart pagecache restore --help
    exit: 0
    --- stdout
    Drop the page cache and bring a saved state back

    Usage: coldstart pagecache restore [OPTIONS] <FILE>

    Arguments:
      <FILE>
              File that `pagecache save` wrote

    Options:
          --add
              Drop nothing: add the saved pages to what is in memory; needs no root

          --color <WHEN>
              When to colour the output

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [default: auto]

          --json
              Print one JSON object instead of a table

      -h, --help
              Print help (see a summary with '-h')

    Everything is dropped from the page cache, for the whole machine, and exactly the saved pages are
    read again. No data is lost. Files that are gone or have changed are left out and named. Pages that
    running programs have mapped cannot be dropped; where they were not saved, they count as extra.

    Exit codes: 0 at least 99 % of the pages are back; 1 fewer are, or something is gone or has changed;
    2 something broke.

    Examples:
      sudo coldstart pagecache restore after-boot.pagecache
      coldstart pagecache restore --add firefox.pagecache
    --- stderr
    ");
}
