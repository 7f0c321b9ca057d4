//! What is said by `--help`.

use super::scene::{coldstart, conversation, scratch};

#[test]
fn help_says_what_is_done() {
    let directory = scratch();
    insta::assert_snapshot!(conversation(coldstart(directory.path(), &["save", "--help"])), @r"
    $ coldstart pagecache save --help
    exit: 0
    --- stdout
    Save the state of the page cache, of the whole system or of trees

    Usage: coldstart pagecache save [OPTIONS] <FILE> [PATH]...

    Arguments:
      <FILE>
              File to write; an earlier saved state is replaced once the new one is complete

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
              Skip file systems mounted below the named directories

          --force
              Overwrite FILE even if it is not an earlier output

          --json
              Print one JSON object instead of a sentence

      -h, --help
              Print help (see a summary with '-h')

    It saves the resident pages of files, the pages of block devices where they are visible (file
    systems' metadata), and the directories and symbolic links that lead to those files. Without PATH,
    network and memory-backed file systems are left out. Deleted files that are still open cannot be
    saved.

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
    Drop the page cache and restore a saved state

    Usage: coldstart pagecache restore [OPTIONS] <FILE>

    Arguments:
      <FILE>
              File that `pagecache save` wrote

    Options:
          --add
              Drop nothing: add the saved pages to the current ones; needs no root

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

    All clean pages are dropped, for the whole machine, and exactly the saved pages are read again. No
    data is lost. Files that were removed or changed are skipped and listed. Pages that running programs
    have mapped cannot be dropped; those that were not saved count as extra.

    Exit codes: 0 at least 99 % of the pages are back; 1 fewer are, or something is gone or has changed;
    2 something broke.

    Examples:
      sudo coldstart pagecache restore after-boot.pagecache
      coldstart pagecache restore --add firefox.pagecache
    --- stderr
    ");
}
