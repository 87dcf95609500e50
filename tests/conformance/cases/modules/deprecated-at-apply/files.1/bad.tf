output "bad" {
  value = 1 + "x"
}
