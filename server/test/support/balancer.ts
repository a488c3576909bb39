import { setTimeout as delay } from 'node:timers/promises';
import type { NodeProcess } from './cluster-nodes.ts';

export interface BalancedAnswer {
  readonly status: number;
  readonly text: string;
}

/** A balancer as it stands before nodes: it asks each once a second whether it is ready, and repeats no request. */
export interface Balancer {
  /** A node that has come in the place of another, or is new. It gets requests once it is ready. */
  add(node: NodeProcess): void;
  /** Right after the node was asked, so that it will be thought ready for as long as can be. */
  justAsked(node: NodeProcess): Promise<void>;
  isUsed(node: NodeProcess): boolean;
  pass(send: (node: NodeProcess) => Promise<BalancedAnswer>): Promise<BalancedAnswer>;
  close(): Promise<void>;
}

const askEveryMs = 1_000;

export function createBalancer(): Balancer {
  const ready = new Map<string, NodeProcess>();
  const asked = new Map<NodeProcess, () => void>();
  const current = new Map<string, NodeProcess>();
  const watches: Promise<void>[] = [];
  let on = true;
  let turn = 0;
  const watch = async (node: NodeProcess): Promise<void> => {
    while (on && current.get(node.name) === node) {
      const isReady = await node.isReady();
      if (current.get(node.name) !== node) return;
      if (isReady) ready.set(node.name, node);
      else ready.delete(node.name);
      asked.get(node)?.();
      asked.delete(node);
      await delay(askEveryMs);
    }
  };
  return {
    add: (node) => {
      ready.delete(node.name);
      current.set(node.name, node);
      watches.push(watch(node));
    },
    justAsked: (node) => new Promise((resolve) => void asked.set(node, resolve)),
    isUsed: (node) => ready.get(node.name) === node,
    pass: async (send) => {
      turn += 1;
      const usable = [...ready.values()];
      const node = usable[turn % Math.max(1, usable.length)];
      return node === undefined ? { status: 0, text: 'no node is ready' } : await send(node);
    },
    close: async () => {
      on = false;
      await Promise.all(watches);
    },
  };
}
