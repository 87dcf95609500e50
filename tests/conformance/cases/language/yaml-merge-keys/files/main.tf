output "c" {
  value = yamldecode(file("c.yaml"))
}
