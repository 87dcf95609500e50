-- One bounded part of releasing claims. KEYS: meta, run, claims. ARGV: incarnation, token, run id, 1 if the whole CLAIM
-- is no longer in force, subjects.
local _, refusal = enter(KEYS[1], KEYS[2], ARGV[1], ARGV[2], {'token', 'tip'})
if refusal then return refusal end
if ARGV[4] == '1' then redis.call('HSET', KEYS[2], 'claimed', '0') end
for at = 5, #ARGV do
  local subject = ARGV[at]
  redis.call('HDEL', KEYS[2], 'own:' .. subject)
  local value = redis.call('HGET', KEYS[3], subject)
  if value then
    local left = {}
    for run in string.gmatch(string.sub(value, 3), '%S+') do
      if run ~= ARGV[3] then table.insert(left, run) end
    end
    if #left == 0 then
      redis.call('HDEL', KEYS[3], subject)
    else
      redis.call('HSET', KEYS[3], subject, string.sub(value, 1, 2) .. table.concat(left, ' '))
    end
  end
end
return {'UNCLAIMED'}
