output "o" {
  value = "two"
}
