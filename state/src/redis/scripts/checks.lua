-- CHECKS: stores the results of all checks of a run.
-- KEYS: see writes.lua. ARGV: incarnation, token, run id, line, digest, writes.
local writes = read_writes(6)
local run, refusal = enter(META, RUN, ARGV[1], ARGV[2], with_own(writes, {'token', 'tip'}))
if refusal then return refusal end
local refused = not_claimed(run, writes, 2)
if refused then return refused end
return write_all(run, writes, ARGV[4], ARGV[5])
