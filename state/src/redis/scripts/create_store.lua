-- Creates a store. No other script does this. KEYS: meta, runs, rec, rev, out. ARGV: incarnation, lineage, version of
-- the writer.
local now = redis.call('HGET', KEYS[1], 'incarnation')
if now then return {'OK', now} end
for at = 2, 5 do
  if redis.call('EXISTS', KEYS[at]) == 1 then return {'NOMETA'} end
end
redis.call('HSET', KEYS[1], 'format', '1', 'incarnation', ARGV[1], 'lineage', ARGV[2], 'version', ARGV[3],
  'serial', '0', 'seq', '0', 'epoch', '0', 'records', '0', 'outputs', '0')
return {'OK', ARGV[1]}
