-- Removes a lost run, which must be frozen, in parts of bounded size. Each call handles some claims. KEYS: meta, runs,
-- claims, doubts, run, then the other keys of the run. ARGV: incarnation, run id, 1 for the last part, subjects of
-- claims of the run.
if redis.call('HGET', KEYS[1], 'incarnation') ~= ARGV[1] then return {'OTHER'} end
if not redis.call('HGET', KEYS[5], 'frozen') then return {'KEPT'} end
for at = 4, #ARGV do
  local value = redis.call('HGET', KEYS[3], ARGV[at])
  if value then
    local left = {}
    for run in string.gmatch(string.sub(value, 3), '%S+') do
      if run ~= ARGV[2] then table.insert(left, run) end
    end
    if #left == 0 then
      redis.call('HDEL', KEYS[3], ARGV[at])
    else
      redis.call('HSET', KEYS[3], ARGV[at], string.sub(value, 1, 2) .. table.concat(left, ' '))
    end
  end
end
if ARGV[3] ~= '1' then return {'PART'} end
local doubts = redis.call('HGETALL', KEYS[4])
for at = 1, #doubts, 2 do
  if string.match(doubts[at + 1], '^%S+') == ARGV[2] then redis.call('HDEL', KEYS[4], doubts[at]) end
end
redis.call('HDEL', KEYS[2], ARGV[2])
for at = 5, #KEYS do redis.call('UNLINK', KEYS[at]) end
return {'DROPPED'}
