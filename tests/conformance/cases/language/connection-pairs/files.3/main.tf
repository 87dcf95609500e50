resource "terraform_data" "a" {
  connection {
    port = "x"
  }
  provisioner "local-exec" {
    command = "true"
    connection {
      port = 22
      host = "h"
    }
  }
}
