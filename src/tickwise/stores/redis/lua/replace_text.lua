-- replace_text: keep a text under a name, if what is there has a version; without anything there, that is 0.

local key = P .. ':text:' .. args.name
local version = tonumber(call('HGET', key, 'version') or 0)
if version ~= args.over then
  return '{}'
end
put(key, { version = whole(version + 1), text = args.text })
return '{"version":"' .. whole(version + 1) .. '"}'
