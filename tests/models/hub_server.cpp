#include "models/hub_server.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <cstdlib>
#include <thread>

namespace casemate::test {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;
using Stream = asio::ssl::stream<tcp::socket>;

}  // namespace

Certificate make_certificate(const std::string& folder) {
  const Certificate made{folder + "/key.pem", folder + "/cert.pem"};
  const std::string command =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout " + made.key_file +
      " -out " + made.file + " -subj /CN=test -addext subjectAltName=IP:127.0.0.1 >/dev/null 2>&1";
  if (std::system(command.c_str()) != 0) std::abort();
  return made;
}

struct HubServer::State {
  asio::io_context context;
  asio::ssl::context tls{asio::ssl::context::tls_server};
  tcp::acceptor acceptor{context, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  std::map<std::string, Page> pages;
  mutable std::mutex mutex;
  std::vector<std::string> requests;
  std::map<std::string, std::size_t> answers;
  std::atomic<bool> stopping{false};
  std::thread thread;

  void run() {
    while (!stopping) {
      error_code code;
      tcp::socket socket(context);
      acceptor.accept(socket, code);
      if (code || stopping) continue;
      Stream stream(std::move(socket), tls);
      stream.handshake(asio::ssl::stream_base::server, code);
      if (!code) serve(stream);
    }
  }

  void serve(Stream& stream) {
    error_code code;
    boost::beast::flat_buffer buffer;
    http::request<http::empty_body> request;
    http::read(stream, buffer, request, code);
    if (code) return;
    const std::string path(request.target());
    const std::string range(request[http::field::range]);
    std::size_t turn = 0;
    {
      const std::lock_guard lock(mutex);
      requests.push_back(path + " " + range);
      turn = answers[path]++;
    }
    const auto found = pages.find(path);
    Page page;
    page.status = 404;
    if (found != pages.end()) page = found->second;
    std::string body = page.body;
    std::string head;
    if (!range.empty() && !page.ignore_range && page.status == 200) {
      const std::size_t begin = std::stoul(range.substr(6));
      const std::string truth =
          "bytes " + std::to_string(begin) + "-" + std::to_string(body.size() - 1) + "/" + std::to_string(body.size());
      head = "HTTP/1.1 206 Partial\r\nContent-Range: " + page.content_range.value_or(truth) + "\r\n";
      body = body.substr(std::min(begin, body.size()));
    } else {
      head = "HTTP/1.1 " + std::to_string(page.status) + " Status\r\n";
    }
    if (!page.location.empty()) head += "Location: " + page.location + "\r\n";
    head += page.chunked ? "Transfer-Encoding: chunked\r\n\r\n"
                         : "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
    asio::write(stream, asio::buffer(head), code);
    if (page.stall_after < body.size()) {
      asio::write(stream, asio::buffer(body.data(), page.stall_after), code);
      char byte = 0;
      stream.read_some(asio::buffer(&byte, 1), code);  // until the client goes
      return;
    }
    const bool drop = turn < page.drop_after.size();
    const std::size_t sent = drop ? std::min(page.drop_after[turn], body.size()) : body.size();
    if (page.chunked) {
      for (std::size_t at = 0; at < sent; at += 1000) {
        const std::string piece = body.substr(at, std::min<std::size_t>(1000, sent - at));
        char size[32];
        std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
        asio::write(stream, asio::buffer(size + piece + "\r\n"), code);
      }
      if (!drop) asio::write(stream, asio::buffer(std::string("0\r\n\r\n")), code);
    } else {
      asio::write(stream, asio::buffer(body.data(), sent), code);
    }
    if (!drop) stream.shutdown(code);
  }
};

HubServer::HubServer(const Certificate& certificate, std::map<std::string, Page> pages)
    : state_(std::make_unique<State>()) {
  state_->tls.use_certificate_chain_file(certificate.file);
  state_->tls.use_private_key_file(certificate.key_file, asio::ssl::context::pem);
  state_->pages = std::move(pages);
  state_->thread = std::thread([this] { state_->run(); });
}

HubServer::~HubServer() {
  state_->stopping = true;
  error_code ignored;
  tcp::socket wake(state_->context);
  wake.connect(state_->acceptor.local_endpoint(), ignored);
  state_->thread.join();
}

std::string HubServer::url(const std::string& host) const {
  return "https://" + host + ":" + std::to_string(state_->acceptor.local_endpoint().port());
}

std::vector<std::string> HubServer::requests() const {
  const std::lock_guard lock(state_->mutex);
  return state_->requests;
}

}  // namespace casemate::test
