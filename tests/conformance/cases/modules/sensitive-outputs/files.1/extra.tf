output "leak" {
  value = module.b.len
}
