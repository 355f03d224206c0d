def mutants(root, name): return []
