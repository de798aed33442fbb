-- lease: hand queued runs to a worker, within the fleet's limits on their queues.

if call('EXISTS', args.offers) == 0 then
  return '{"unknown_offers":true}'
end
promote()
return '{"leases":' .. rows(hand_out(args)) .. '}'
