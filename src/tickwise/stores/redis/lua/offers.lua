-- offers: keep what workers offer, under the digest of it, for a day after it was last written.

for first = 1, #args.words, 1000 do
  call('SADD', args.offers, unpack(args.words, first, math.min(first + 999, #args.words)))
end
call('EXPIRE', args.offers, 86400)
return '{}'
