-- drop: go on ending the queued runs of a removed job (S23).

local newest = call('HGET', P .. ':dropping', args.name)
if newest then
  drop_backlog(args.name, tonumber(newest))
end
return '{}'
