/** `forgery.test.ts` has the addresses that are not public. */
import { expect, test } from "bun:test";
import { isPublicAddress } from "./address.ts";

test.each(
  [
    "1.1.1.1 8.8.8.8 93.184.215.14 100.63.255.255 100.128.0.0 172.15.255.255 172.32.0.0 192.167.255.255",
    "168.63.129.15 168.63.129.17 223.255.255.255 2001:4860:4860::8888 2606:4700:4700::1111",
    "2a00:1450:4001:80e::200e 2001:200::1",
  ].flatMap((line) => line.split(" ")),
)("an address, %s: public", (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

test.each([
  "",
  "localhost",
  "8.8.8",
  "134744072",
  "0x08.8.8.8",
  "010.8.8.8",
  "8.8.8.8 ",
  "8.8.8.8/0",
  "[2606::1]",
  "1::2::3",
])("a text, %j: not an address", (text) => {
  expect(isPublicAddress(text)).toBe(false);
});

test.each(["4000::1", "5f00::1", "1::1", "e000::1"])("an address, %s outside of 2000::/3: not public", (address) => {
  expect(isPublicAddress(address)).toBe(false);
});
