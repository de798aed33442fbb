-- claim_key: first come, first served. A claim that stays unanswered too long is lost to the next caller; one that is
-- old enough is forgotten. Answers the claim that was first, or nothing if the key is the caller's now.

for _, old in ipairs(call('ZRANGE', P .. ':claims', '-inf', '(' .. whole(now - args.lifetime), 'BYSCORE', 'LIMIT', 0, args.batch)) do
  call('ZREM', P .. ':claims', old)
  call('DEL', P .. ':claim:' .. old)
end
local key = P .. ':claim:' .. args.key
local known = fields_of(key)
if known.mark and (known.answer or tonumber(known.until_at) > now) and tonumber(known.at) >= now - args.lifetime then
  return cjson.encode({ mark = known.mark, answer = known.answer })
end
call('DEL', key)
put(key, { mark = args.mark, at = now, until_at = now + args.duration })
call('ZADD', P .. ':claims', now, args.key)
return 'null'
