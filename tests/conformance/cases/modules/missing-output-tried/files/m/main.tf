output "v" {
  value = { a = 1 }
}
