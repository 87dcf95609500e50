resource "terraform_data" "a" {
  connection {
    host = var.n1
    port = "x"
  }
  provisioner "local-exec" {
    command = "true"
    connection {
      port = var.n2
      nope = 1
    }
  }
}
