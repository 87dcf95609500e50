-- Releases claims of a run, in parts of bounded size. KEYS: meta, run, claims. ARGV: incarnation, token, run id, 1 to
-- record that the CLAIM of the run is no longer in force, subjects.
local _, refusal = enter(KEYS[1], KEYS[2], ARGV[1], ARGV[2], {'token', 'tip'})
if refusal then return refusal end
if ARGV[4] == '1' then redis.call('HSET', KEYS[2], 'claimed', '0') end
local subjects, own, free, claims = {}, {}, {}, {}
for at = 5, #ARGV do
  subjects[#subjects + 1] = ARGV[at]
  own[#own + 1] = 'own:' .. ARGV[at]
end
local values = #subjects > 0 and fields(KEYS[3], subjects) or {}
for n, subject in ipairs(subjects) do
  local value = values[n]
  if value then
    local left = {}
    for run in string.gmatch(string.sub(value, 3), '%S+') do
      if run ~= ARGV[3] then left[#left + 1] = run end
    end
    if #left == 0 then
      free[#free + 1] = subject
    else
      claims[#claims + 1], claims[#claims + 2] = subject, string.sub(value, 1, 2) .. table.concat(left, ' ')
    end
  end
end
unset(KEYS[2], own)
unset(KEYS[3], free)
set(KEYS[3], claims)
return {'UNCLAIMED'}
