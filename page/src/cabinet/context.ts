// What every view of the animal page is given.
import type { Navigation } from "../common/view";
import type { Data, Policy } from "./data";
import type { Model } from "./model";

export interface Context extends Navigation {
  data: Data;
  model: Model;
  /** The policy that all views but the comparison show. */
  policy: Policy;
}
