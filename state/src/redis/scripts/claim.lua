-- Handles one part of a CLAIM, of bounded size. Checks all claims of the part. Then takes all of them, unless the call
-- is only a check.
-- KEYS: meta, run, claims, revisions, journal. ARGV: incarnation, token, run id, 1 to take the claims, line and digest
-- ('' except in the last part), then (subject, x or s, expected revision) for each claim.
local names, subjects = {'token', 'tip'}, {}
for at = 7, #ARGV, 3 do
  subjects[#subjects + 1] = ARGV[at]
  names[#names + 1] = 'own:' .. ARGV[at]
end
local run, refusal = enter(KEYS[1], KEYS[2], ARGV[1], ARGV[2], names)
if refusal then return refusal end
local me = ARGV[3]
local stale, held = {}, {}
local values, revisions = {}, {}
if #subjects > 0 then values, revisions = fields(KEYS[3], subjects), fields(KEYS[4], subjects) end
for n, subject in ipairs(subjects) do
  local mode, expected, value = ARGV[3 * n + 5], ARGV[3 * n + 6], values[n]
  if value then
    local theirs = string.sub(value, 1, 1)
    if mode == 'x' or theirs == 'x' then
      for other in string.gmatch(string.sub(value, 3), '%S+') do
        if other ~= me then held[#held + 1], held[#held + 2], held[#held + 3] = subject, theirs, other end
      end
    end
  end
  local found = revisions[n] or '0'
  if found ~= expected then stale[#stale + 1], stale[#stale + 2], stale[#stale + 3] = subject, expected, found end
end
if #stale > 0 or #held > 0 then return {'REFUSED', stale, held} end
if ARGV[4] ~= '1' then return {'FREE'} end
local fresh, own, claims, now = {}, {}, {}, {}
for n, subject in ipairs(subjects) do
  local mode, before = ARGV[3 * n + 5], now[subject] or run.held[n + 2]
  if not before then fresh[#fresh + 1] = subject end
  if before ~= 'x' and before ~= mode then
    now[subject] = mode
    own[#own + 1], own[#own + 2] = 'own:' .. subject, mode
    local value = 's ' .. me
    if mode == 'x' then
      value = 'x ' .. me
    elseif values[n] then
      value = values[n] .. ' ' .. me
    end
    claims[#claims + 1], claims[#claims + 2] = subject, value
  end
end
set(KEYS[2], own)
set(KEYS[3], claims)
if ARGV[5] ~= '' then
  redis.call('HSET', KEYS[2], 'claimed', '1')
  local lines, link = append(run, KEYS[5], ARGV[5], ARGV[6])
  return {'CLAIMED', fresh, tostring(lines), link}
end
return {'CLAIMED', fresh}
