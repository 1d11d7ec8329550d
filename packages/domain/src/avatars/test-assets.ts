/**
 * Test assets: ids that force the outcome of a preparation, so that an integrator can test each branch without files.
 * Only keys of the test environment can name them. Test assets are not stored: they cannot be read, listed or deleted.
 */
import type { Environment } from "../environment.ts";
import type { CheckCode } from "./checks.ts";

export const TEST_ASSET_PREFIX = "ast_test_";

export type TestOutcome =
  /** `warning`: a check whose verdict is `warn`. */
  | { kind: "ready"; warning: CheckCode | null }
  /** `check`: the check that fails. */
  | { kind: "failed"; check: CheckCode }
  /** Every attempt fails for a reason that is not in the source. */
  | { kind: "internal" };

/** The outcome of each test asset. */
export const TEST_ASSETS: Readonly<Record<string, TestOutcome>> = {
  ast_test_ready: { kind: "ready", warning: null },
  ast_test_small_face: { kind: "ready", warning: "face_size" },
  ast_test_not_decodable: { kind: "failed", check: "decodable" },
  ast_test_low_resolution: { kind: "failed", check: "resolution" },
  ast_test_no_face: { kind: "failed", check: "face_count" },
  ast_test_turned_away: { kind: "failed", check: "face_yaw" },
  ast_test_blurred: { kind: "failed", check: "sharpness" },
  ast_test_dark: { kind: "failed", check: "brightness" },
  ast_test_cropped: { kind: "failed", check: "cropped" },
  ast_test_internal: { kind: "internal" },
};

/** The outcome that a test asset forces; null when `id` is not one. */
export const testOutcome = (id: string): TestOutcome | null =>
  Object.hasOwn(TEST_ASSETS, id) ? (TEST_ASSETS[id] ?? null) : null;

/** Whether `id` has the form of a test asset that keys of `environment` cannot use. */
export const isUnknownTestAsset = (id: string, environment: Environment): boolean =>
  id.startsWith(TEST_ASSET_PREFIX) && (environment !== "test" || testOutcome(id) === null);
