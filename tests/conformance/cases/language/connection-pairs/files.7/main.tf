resource "terraform_data" "a" {
  connection {
    host = "h"
  }
  provisioner "local-exec" {
    command = "true"
    connection {
      port = "x"
    }
  }
}
