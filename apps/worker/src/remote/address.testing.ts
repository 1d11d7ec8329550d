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
  // Unspecified, loopback, IPv4-compatible, IPv4-mapped (of a public address as well), IPv4-translated.
  ":: ::1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:7f00:1 ::ffff:0:127.0.0.1",
  // NAT64 with the well-known and the local prefix, discard, SRv6, 6to4, Teredo, ORCHID, benchmarking, documentation.
  "64:ff9b::7f00:1 64:ff9b::8.8.8.8 64:ff9b:1::1 100::1 5f00::1 2002:7f00:1::1 2002:808:808::1 2001::1",
  "2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:10::1 2001:20::1 2001:2::1 2001:db8::1 3fff::1 2620:4f:8000::1",
  // Unique local with a metadata service, link-local, site-local, multicast, unassigned.
  "fc00::1 fd00::1 fd00:ec2::254 fe80::1 fe80::1%eth0 fec0::1 ff02::1 ff0e::1 4000::1 ::2",
].flatMap((line) => line.split(" "));
