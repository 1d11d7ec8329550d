/**
 * The network policies of kubernetes.yaml and avatar-worker.yaml, evaluated like a network plug-in: the allowed
 * outgoing packets.
 */
import { expect, test } from "bun:test";
import ipaddr from "ipaddr.js";
import { kubernetesText, read, type Yaml } from "./support.ts";

const objects: Yaml[] = [kubernetesText ?? "", await read("deploy/avatar-worker.yaml")].flatMap(
  (text) => Bun.YAML.parse(text) as Yaml[],
);
const policies = objects.filter(({ kind }) => kind === "NetworkPolicy");
const templates: Yaml[] = objects
  .map(({ spec }) => spec?.template ?? spec?.jobTemplate?.spec.template)
  .filter((template) => template !== undefined);

type Labels = Record<string, string>;
type Packet = { to: string; protocol: string; port: number };

const labelsOf = (name: string): Labels => ({ "app.kubernetes.io/name": name });
const WORKER = labelsOf("realtime-avatar-worker");
const AVATAR_WORKER = labelsOf("realtime-avatar-avatar-worker");

const isIn = (address: string, cidr: string): boolean => {
  const [parsed, range] = [ipaddr.parse(address), ipaddr.parseCIDR(cidr)];
  return parsed.kind() === range[0].kind() && parsed.match(range as [ipaddr.IPv4, number]);
};
const selects = ({ matchLabels = {}, matchExpressions = [] }: Yaml, labels: Labels): boolean =>
  Object.entries(matchLabels).every(([name, value]) => labels[name] === value) &&
  matchExpressions.every(({ key, operator, values }: Yaml) => operator === "In" && values.includes(labels[key]));
const allows = ({ to: targets, ports }: Yaml, { to, protocol, port }: Packet): boolean =>
  ports.some((each: Yaml) => each.protocol === protocol && each.port <= port && port <= (each.endPort ?? each.port)) &&
  // A rule without targets allows every address. This test ignores targets that are pods.
  (targets ?? [{ ipBlock: { cidr: "::/0" } }, { ipBlock: { cidr: "0.0.0.0/0" } }]).some(
    ({ ipBlock }: Yaml) => ipBlock && isIn(to, ipBlock.cidr) && !ipBlock.except?.some((cidr: string) => isIn(to, cidr)),
  );
const mayLeave = (labels: Labels, packet: Packet): boolean =>
  policies
    .filter(({ spec }) => selects(spec.podSelector, labels))
    .flatMap(({ spec }) => spec.egress ?? [])
    .some((rule) => allows(rule, packet));

/** The address of an IPv4 host on a network with NAT64. */
const throughNat64 = (address: string): string =>
  ipaddr.fromByteArray([0, 0x64, 0xff, 0x9b, ...Array(8).fill(0), ...ipaddr.parse(address).toByteArray()]).toString();
const withNat64 = (text: string): string[] => text.split(" ").flatMap((address) => [address, throughNat64(address)]);

/** Private addresses, the addresses at which clouds serve credentials, and multicast. */
const INSIDE = [
  ...withNat64("0.0.0.1 10.0.0.1 10.255.255.255 100.64.0.1 127.0.0.1 168.63.129.16 169.254.169.254 169.254.170.2"),
  ...withNat64("172.16.0.1 172.31.255.255 192.0.0.192 192.168.0.1 198.18.0.1 224.0.0.1 255.255.255.255"),
  ..."::1 fd00::1 fd00:ec2::254 fe80::1 ff02::1 64:ff9b:1::808:808".split(" "),
];
const OUTSIDE = [
  ...withNat64("1.1.1.1 9.255.255.255 100.128.0.1 172.32.0.1 192.167.255.255 223.255.255.255"),
  "2001:4860:4860::8888",
];
const HTTPS = [443, 8443].map((port) => ({ protocol: "TCP", port }));
/** Signals, media by TCP, and media by UDP. */
const LIVEKIT = [
  ...[443, 7881].map((port) => ({ protocol: "TCP", port })),
  ...[53, 50_000].map((port) => ({ protocol: "UDP", port })),
];

test("the database: reached only by the pods that have its URL", () => {
  expect(templates).toHaveLength(5);
  for (const { metadata, spec } of templates) {
    const usesDatabase = spec.containers[0].env.some(({ name }: Yaml) => name === "DATABASE_URL");
    const isReached = mayLeave(metadata.labels, { to: "10.0.0.5", protocol: "TCP", port: 5432 });
    expect([metadata.labels, isReached]).toEqual([metadata.labels, usesDatabase]);
  }
});

test.each(INSIDE)("the worker, to %s: no connection, even if the host of a caller's URL resolves to it", (to) => {
  for (const packet of HTTPS) expect(mayLeave(WORKER, { to, ...packet })).toBe(false);
});

test.each(INSIDE)("an avatar worker, to %s: no packet, even if a room names it for its media", (to) => {
  for (const packet of LIVEKIT) expect([packet, mayLeave(AVATAR_WORKER, { to, ...packet })]).toEqual([packet, false]);
});

test.each(OUTSIDE)("the worker and an avatar worker, to %s: reached only at the allowed ports", (to) => {
  for (const packet of HTTPS) expect(mayLeave(WORKER, { to, ...packet })).toBe(true);
  for (const packet of LIVEKIT) expect(mayLeave(AVATAR_WORKER, { to, ...packet })).toBe(true);
  for (const port of [22, 80]) {
    for (const labels of [WORKER, AVATAR_WORKER]) expect(mayLeave(labels, { to, protocol: "TCP", port })).toBe(false);
  }
});
