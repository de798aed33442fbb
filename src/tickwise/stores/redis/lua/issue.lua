-- issue: add a token, unless one that is not revoked has its name, or one has its id or its secret.

local key = P .. ':token:' .. args.id
local same = call('HGET', P .. ':token_names', args.name)
if same then
  return cjson.encode({ taken = args.name })
elseif call('EXISTS', key) == 1 or call('HEXISTS', P .. ':digests', args.digest) == 1 then
  return '{"taken":""}'
end
put(key, { doc = args.doc, name = args.name, created_at = now })
call('HSET', P .. ':digests', args.digest, args.id)
call('HSET', P .. ':token_names', args.name, args.id)
call('SADD', P .. ':tokens', args.id)
return '{"created_at":"' .. whole(now) .. '"}'
