# The dh sequence: `Build-Depends: dh-sequence-coldstart`, or `dh $@ --with coldstart`.
use strict;
use warnings;
use Debian::Debhelper::Dh_Lib;

# Debug symbols are split off before, because what is packed keeps their build IDs; dependencies are computed after.
insert_after('dh_strip', 'dh_coldstart');

1;
