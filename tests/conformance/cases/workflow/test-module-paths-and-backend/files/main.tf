output "root" {
  value = path.root
}
