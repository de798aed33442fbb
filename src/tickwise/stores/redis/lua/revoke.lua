-- revoke: revoke a token for good, which frees its name.

local key = P .. ':token:' .. args.id
local token = fields_of(key)
if not token.doc then
  return '{}'
end
if not token.revoked_at then
  token.revoked_at = whole(now)
  call('HSET', key, 'revoked_at', now)
  call('HDEL', P .. ':token_names', token.name)
end
return cjson.encode(token)
