/** Environments: live and test resources are separate. */

export const ENVIRONMENTS = ["live", "test"] as const;
export type Environment = (typeof ENVIRONMENTS)[number];

/** The environments whose keys a key may see and manage: live keys manage both, test keys only test. */
export const managedEnvironments = (environment: Environment): Environment[] =>
  environment === "live" ? ["live", "test"] : ["test"];
