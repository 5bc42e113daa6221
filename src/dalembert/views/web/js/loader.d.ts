// The loader of kernels is src/dalembert/compiler/kernel/loader.mjs; the bundler puts it in this module's place.
export interface Rows {
  readonly count: number;
  run(count?: number): void;
  readonly [array: string]: any;
}
export interface Kernels {
  about: {
    functions: Record<string, { inputs: [string, number][]; outputs: [string, number][] }>;
    robot: string;
  };
  exports: Record<string, any>;
  memory: WebAssembly.Memory;
  [name: string]: any;
}
export function load(
  source: BufferSource | WebAssembly.Module,
  memory?: WebAssembly.Memory,
): Promise<Kernels>;
