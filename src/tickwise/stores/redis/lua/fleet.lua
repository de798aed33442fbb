-- fleet: small moves of the fleet: `leave` forgets a node and ends its leases of handed-over runs (S54), `limit` sets the
-- limits on a queue or, with `pauses`, pauses or resumes it, `numbers_from` says which number the next run
-- gets (S78), `pause` begins a pause of everything and `resume` ends it. Pauses that have ended are a list, in
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
elseif args.numbers_from then
  call('SET', P .. ':number', whole(args.numbers_from - 1))
elseif args.limit then
  local key, pauses = P .. ':limit:' .. args.limit, args.pauses
  if pauses then
    call('HDEL', key, 'paused_at', 'paused_by', 'pause_reason', 'resumes_at')
    if pauses.by then
      put(key, {
        paused_at = second, paused_by = pauses.by, pause_reason = pauses.reason, resumes_at = pauses['until'],
      })
    end
  else
    call('HDEL', key, 'concurrency', 'rate')
    put(key, {
      concurrency = args.concurrency, rate = args.rate and string.format('%.17g', args.rate),
      credit = string.format('%.17g', math.max(1, args.rate or 1)), credited_at = now,
    })
  end
  if call('HEXISTS', key, 'concurrency') + call('HEXISTS', key, 'rate') + call('HEXISTS', key, 'paused_at') > 0 then
    call('SADD', P .. ':limits', args.limit)
  else
    call('SREM', P .. ':limits', args.limit)
    call('DEL', key)
  end
  tell()
elseif args.pause then
  local open = is_paused() and cjson.decode(call('GET', P .. ':pause')) or { whole(second), args.pause.by, args.pause.reason }
  open[4] = args.pause['until'] and whole(args.pause['until'])
  call('SET', P .. ':pause', cjson.encode(open))
elseif (args.resume or args.resume_at_its_end) and is_paused() then
  local open = cjson.decode(call('GET', P .. ':pause'))
  local over = args.resume and whole(second) or open[4]
  if over and tonumber(over) <= second then
    call('RPUSH', P .. ':pauses', cjson.encode({ open[1], open[2], open[3], over }))
    call('DEL', P .. ':pause')
    tell()
    return '{"ended":true}'
  end
end
return '{}'
