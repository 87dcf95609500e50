output "paths" {
  value = [path.root, path.module]
}
