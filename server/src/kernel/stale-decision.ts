/**
 * Something changed between the decision and its commit: who the caller is and what they may do must be looked up
 * again. The edge runs the request once more from the start; nothing was done.
 */
export class StaleDecision extends Error {
  constructor() {
    super('the organization changed while the request was decided');
    this.name = 'StaleDecision';
  }
}
