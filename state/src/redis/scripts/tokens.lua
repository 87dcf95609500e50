-- Reserves tokens of one budget, as `reserve` in budget.rs does.
-- KEYS: the budget. ARGV: interval, burst, count, how far ahead; times in microseconds.
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
local interval, burst, count, ahead = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local full = tonumber(redis.call('GET', KEYS[1]) or '0')
full = math.min(math.max(full, now), now + burst * interval + ahead)
local free = math.floor((now + ahead - full) / interval) + burst
local granted = math.max(0, math.min(count, free))
local first = full - (burst - 1) * interval - now
if granted > 0 then
  local after = full + granted * interval
  -- A bucket without a record is full.
  redis.call('SET', KEYS[1], string.format('%.0f', after), 'PX', string.format('%.0f', math.ceil((after - now) / 1000) + 1))
end
return {string.format('%.0f', granted), string.format('%.0f', first)}
