-- One bounded part of a CLAIM. Checks all of it, then takes all of it unless the call is only a check.
-- KEYS: meta, run, claims, revisions, journal. ARGV: incarnation, token, run id, 1 to take, line and digest ('' except
-- in the last part), then (subject, x or s, expected revision) for each claim.
local run, refusal = enter(KEYS[1], KEYS[2], ARGV[1], ARGV[2], {'token', 'tip'})
if refusal then return refusal end
local me = ARGV[3]
local stale, held = {}, {}
local values = {}
for at = 7, #ARGV, 3 do
  local subject, mode, expected = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local value = redis.call('HGET', KEYS[3], subject)
  if value then
    local theirs = string.sub(value, 1, 1)
    if mode == 'x' or theirs == 'x' then
      for run in string.gmatch(string.sub(value, 3), '%S+') do
        if run ~= me then
          table.insert(held, subject)
          table.insert(held, theirs)
          table.insert(held, run)
        end
      end
    end
    values[subject] = value
  end
  local found = redis.call('HGET', KEYS[4], subject) or '0'
  if found ~= expected then
    table.insert(stale, subject)
    table.insert(stale, expected)
    table.insert(stale, found)
  end
end
if #stale > 0 or #held > 0 then return {'REFUSED', stale, held} end
if ARGV[4] ~= '1' then return {'FREE'} end
local fresh = {}
for at = 7, #ARGV, 3 do
  local subject, mode = ARGV[at], ARGV[at + 1]
  local own = redis.call('HGET', KEYS[2], 'own:' .. subject)
  if not own then table.insert(fresh, subject) end
  if own ~= 'x' and own ~= mode then
    redis.call('HSET', KEYS[2], 'own:' .. subject, mode)
    if mode == 'x' then
      redis.call('HSET', KEYS[3], subject, 'x ' .. me)
    elseif values[subject] then
      redis.call('HSET', KEYS[3], subject, values[subject] .. ' ' .. me)
    else
      redis.call('HSET', KEYS[3], subject, 's ' .. me)
    end
  end
end
if ARGV[5] ~= '' then
  redis.call('HSET', KEYS[2], 'claimed', '1')
  local lines, link = append(run, KEYS[5], ARGV[5], ARGV[6])
  return {'CLAIMED', fresh, tostring(lines), link}
end
return {'CLAIMED', fresh}
