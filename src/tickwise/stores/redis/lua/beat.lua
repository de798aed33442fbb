-- beat: note that a node lives and what it serves, and extend the leases that it holds (ADR 22). Answers which of them
-- still are its own, which of its runs were asked to end, which it does not know, and, if a worker is new or serves
-- something else, the jobs that wait for one.

if args.serves ~= '' then
  if call('EXISTS', args.offers) == 0 then
    return '{"unknown_offers":true}'
  end
  if call('TTL', args.offers) < 43200 then
    call('EXPIRE', args.offers, 86400)
  end
end
local key, id = P .. ':node:' .. args.id, args.id
local before = fields_of(key)
local live_until = now + args.seconds * 1000000
put(key, {
  doc = args.doc, started_at = before.started_at or now, seen_at = now, live_until = live_until, serves = args.serves,
})
if args.passed then
  call('HSET', key, 'passed_at', now)
end
call('ZADD', P .. ':nodes', now, id)
call('ZADD', P .. ':alive', live_until, id)
local held_jobs, workers = '{}', '[]'
if before.serves and before.serves ~= '' and before.serves ~= args.serves then
  call('ZREM', P .. ':workers', id .. ' ' .. before.serves)
end
if args.serves ~= '' then
  call('ZADD', P .. ':workers', live_until, id .. ' ' .. args.serves)
end
if args.serves ~= (before.serves or '') or tonumber(before.live_until or 0) <= now then
  call('INCR', P .. ':workers_seq')
  local waiting = fields_of(P .. ':held_jobs')
  if args.serves ~= '' and next(waiting) then
    held_jobs = cjson.encode(waiting)
    workers = cjson.encode(call('ZRANGE', P .. ':workers', '(' .. whole(now), '+inf', 'BYSCORE'))
  end
end
local held, cancelling, unknown, known = {}, {}, {}, {}
for run, token in pairs(args.held) do
  known[run] = true
  local found = call('HMGET', run_key(run), 'state', 'token', 'node', 'cancelling', 'patience', 'queue', 'requires')
  if found[1] == 'running' and found[2] == token and found[3] == id then -- a former watcher has the token too (S54)
    local lease_until = now + args.lease * 1000000
    call('HSET', run_key(run), 'lease_until', lease_until)
    hold(run, { lease_until = lease_until, patience = found[5], queue = found[6], requires = found[7] })
    held[#held + 1] = run
    if found[4] then
      cancelling[#cancelling + 1] = run
    end
  end
end
for _, run in ipairs(call('SMEMBERS', P .. ':held:' .. id)) do
  if not known[run] then
    local found = call('HMGET', run_key(run), 'lease_until', 'cancelling')
    if tonumber(found[1]) > now then
      unknown[#unknown + 1] = run
    end
    if found[2] then
      cancelling[#cancelling + 1] = run
    end
  end
end
return '{"now":' .. whole(now) .. ',"seen_before":' .. (before.seen_at or '0') .. ',"held":' .. cjson.encode(held) .. ',"cancelling":' .. cjson.encode(cancelling)
  .. ',"unknown":' .. rows(unknown) .. ',"held_jobs":' .. held_jobs .. ',"workers":' .. workers .. '}'
