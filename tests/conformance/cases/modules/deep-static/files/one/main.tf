output "o" {
  value = "one"
}
