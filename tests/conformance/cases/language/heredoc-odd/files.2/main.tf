output "x" {
  value = <<EOT
bad ${
EOT
}
output "y" {
  value = <<"EOT"
x
EOT
}
