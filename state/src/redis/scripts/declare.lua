-- Declares records of the state lost: removes the damaged records, and sets the counts to the numbers of remaining
-- records.
-- KEYS: meta, rec, out, rev, deps. ARGV: incarnation, the expected serial, the declared losses, subjects of damaged
-- records.
local store = redis.call('HMGET', KEYS[1], 'incarnation', 'serial', 'seq')
if store[1] ~= ARGV[1] then return {'OTHER'} end
if store[2] ~= ARGV[2] then return {'CHANGED'} end
local sequence = string.format('%d', (store[3] or 0) + 1)
for at = 4, #ARGV do
  local kind, name = string.sub(ARGV[at], 1, 1), string.sub(ARGV[at], 3)
  if kind == 'i' then
    redis.call('HDEL', KEYS[2], name)
    redis.call('HDEL', KEYS[5], name)
  elseif kind == 'o' then
    redis.call('HDEL', KEYS[3], name)
  else
    redis.call('HDEL', KEYS[1], 'checks')
  end
  redis.call('HSET', KEYS[4], ARGV[at], sequence)
end
redis.call('HSET', KEYS[1], 'seq', sequence, 'serial', string.format('%d', store[2] + 1),
  'records', string.format('%d', redis.call('HLEN', KEYS[2])),
  'outputs', string.format('%d', redis.call('HLEN', KEYS[3])), 'lost', ARGV[3])
return {'DECLARED'}
