-- What came of the checks of a run, all at once. KEYS: see writes.lua. ARGV: incarnation, token, run id, line, digest,
-- writes.
local refusal = fence(K.meta, K.run, ARGV[1], ARGV[2])
if refusal then return refusal end
local writes = read_writes(6)
local refused = not_claimed(writes)
if refused then return refused end
local answer = ok(append(K.run, K.journal, ARGV[4], ARGV[5]))
write_all(writes, answer)
return answer
