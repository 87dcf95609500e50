output "x" {
  value = <<EOT
never ends
}
