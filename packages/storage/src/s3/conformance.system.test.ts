/** The tests of every store, on the S3 of Swift: half a minute. With LONG=1, with many more files. */
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { testStore } from "../conformance-testing.ts";
import { SWIFT } from "../testing.ts";

testStore(SWIFT, await fileFolder());
