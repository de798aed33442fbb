-- fleet: small moves of the fleet: `leave` forgets a node and ends its leases of handed-over runs (S54), `limit` sets the
-- limits on a queue, `pause` begins a pause of everything and `resume` ends it. Pauses that have ended are a list, in
-- order; an open one stands beside it.

if args.leave then
  local serves = call('HGET', P .. ':node:' .. args.leave, 'serves')
  if serves and serves ~= '' then
    call('ZREM', P .. ':workers', args.leave .. ' ' .. serves)
    call('INCR', P .. ':workers_seq')
  end
  call('ZREM', P .. ':alive', args.leave)
  call('ZREM', P .. ':nodes', args.leave)
  call('DEL', P .. ':node:' .. args.leave)
  for _, id in ipairs(call('SMEMBERS', P .. ':held:' .. args.leave)) do
    local run = fields_of(run_key(id))
    if run.patience and tonumber(run.lease_until) > now then
      run.lease_until = now
      put(run_key(id), { lease_until = now })
      hold(id, run)
    end
  end
elseif args.limit then
  local key = P .. ':limit:' .. args.limit
  call('DEL', key)
  call('SREM', P .. ':limits', args.limit)
  if args.concurrency or args.rate then
    put(key, {
      concurrency = args.concurrency, rate = args.rate and string.format('%.17g', args.rate),
      credit = string.format('%.17g', math.max(1, args.rate or 1)), credited_at = now,
    })
    call('SADD', P .. ':limits', args.limit)
  end
  tell()
elseif args.pause and not is_paused() then
  call('SET', P .. ':pause', cjson.encode({ whole(second), args.pause.by, args.pause.reason }))
elseif args.resume and is_paused() then
  local open = cjson.decode(call('GET', P .. ':pause'))
  call('RPUSH', P .. ':pauses', cjson.encode({ open[1], open[2], open[3], whole(second) }))
  call('DEL', P .. ':pause')
  tell()
end
return '{}'
