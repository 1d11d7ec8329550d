/** Addresses that are not public hosts, for tests. */
export const NOT_PUBLIC = [
  // This network, loopback, private, carrier-grade NAT, link-local with the metadata services of clouds.
  "0.0.0.0 0.1.2.3 127.0.0.1 127.255.255.254 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1",
  "100.127.255.255 100.100.100.200 169.254.169.254 169.254.170.2 169.254.0.1",
  // Azure, protocol assignments, documentation, benchmarking, AS112, AMT, 6to4 relays.
  "168.63.129.16 192.0.0.192 192.0.0.1 192.0.2.1 198.51.100.1 203.0.113.1 198.18.0.1 198.19.255.255",
  "192.31.196.1 192.52.193.1 192.88.99.1 192.175.48.1",
  // Multicast, reserved, broadcast.
  "224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255",
  // Unspecified, loopback, IPv4-compatible, IPv4-mapped (also of a public address), IPv4-translated.
  ":: ::1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:7f00:1 ::ffff:0:127.0.0.1",
  // NAT64 of private addresses, and with the local prefix, discard, SRv6, 6to4, Teredo, ORCHID, benchmarking, documentation.
  "64:ff9b::7f00:1 64:ff9b::a00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 64:ff9b:1::808:808 100::1 5f00::1 2002:7f00:1::1 2002:808:808::1 2001::1",
  "2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:10::1 2001:20::1 2001:2::1 2001:db8::1 3fff::1 2620:4f:8000::1",
  // Unique local with a metadata service, link-local, site-local, multicast, unassigned.
  "fc00::1 fd00::1 fd00:ec2::254 fe80::1 fe80::1%eth0 fec0::1 ff02::1 ff0e::1 4000::1 ::2",
].flatMap((line) => line.split(" "));

/** Loopback, metadata services and private addresses, in the spellings that parsers of URLs and of addresses accept. */
export const NOT_PUBLIC_HOSTS = [
  "127.0.0.1 127.1 127.0.1 127.127.127.127 0 0.0.0.0 127.0.0.1. 127.1.",
  // Decimal, octal, hexadecimal, mixed.
  "2130706433 017700000001 0x7f000001 0177.0.0.1 0177.0.0.01 0x7f.0.0.1 0x7f.1 0x7F.0x0.0x0.0x1 0177.0x0.0.1",
  "00000177.0.0.1 0X7F000001 127.0x1 0x7f.00.1 2852039166 0xa9fea9fe 0251.0376.0251.0376 169.254.169.254",
  "169.254.43518 0xa9.254.0251.254 10.0.0.1 0x0a000001 167772161 192.168.0.1 3232235521 172.16.0.1",
  "100.100.100.200",
  // Percent-encoding, full-width and circled digits, ideographic full stops, soft hyphens, zero-width characters.
  "%31%32%37.0.0.1 127%2e0%2e0%2e1 １２７.０.０.１ ①②⑦.⓪.⓪.① 127。0。0。1 127．0．0．1 127｡0｡0｡1 127.0.0.\u00AD1",
  "127.0.0.\u200B1 0x7f.⓪.⓪.①",
  // IPv6: loopback, unspecified, mapped, compatible, NAT64, 6to4, Teredo, link-local, unique local, metadata.
  "[::1] [0:0:0:0:0:0:0:1] [0000::0001] [::] [::127.0.0.1] [::ffff:127.0.0.1] [::ffff:7f00:1]",
  "[::ffff:169.254.169.254] [::ffff:a9fe:a9fe] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b:1::1]",
  "[2002:7f00:1::] [2002:a9fe:a9fe::] [2001:0:4136:e378:8000:63bf:3fff:fdd2] [fe80::1] [fe80::1%25lo]",
  "[fd00:ec2::254] [fc00::1] [fec0::1] [ff02::1] [::ffff:0:127.0.0.1]",
  // A public address is also refused, because only names have certificates.
  "8.8.8.8 134744072 [2001:4860:4860::8888] localhost localhost. LOCALHOST LocalHost. a.localhost ip6-localhost",
  "ⓛocalhost metadata loopback",
].flatMap((line) => line.split(" "));
